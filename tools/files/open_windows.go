package files

// nonblock is empty: files of Windows do not make their opener wait.
const nonblock = 0
