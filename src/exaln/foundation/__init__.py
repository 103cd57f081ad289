"""What all other rooms use: checks of arguments, safe reading and writing of files, locks, resources, progress."""
