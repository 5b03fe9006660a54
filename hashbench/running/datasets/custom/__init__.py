"""Custom data sets: ``hashbench dataset add`` reads a folder of images or a file and stores it as a data set."""
