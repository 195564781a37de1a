"""python -m mirage_torch: the command line tool, of this library's operator table."""
from .library import main

main()
