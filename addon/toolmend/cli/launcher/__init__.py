"""How a user comes to run the proxy: the mitmdump that is started, the variables that lead to it, its CA, and its health."""
