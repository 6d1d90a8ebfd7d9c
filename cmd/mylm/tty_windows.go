package main

const ttyIn, ttyOut = "CONIN$", "CONOUT$"
