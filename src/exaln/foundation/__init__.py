"""What every room stands on: checks of arguments, files that are read and written safely, resources, progress."""
