package open

// Nonblock is empty: files of Windows do not make their opener wait.
const Nonblock = 0
