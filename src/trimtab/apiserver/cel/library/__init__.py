"""The functions that expressions can call, one file for each family. Each declares its types and says what it does."""
