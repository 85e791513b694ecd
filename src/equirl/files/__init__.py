"""Files that are whole or absent: written aside and renamed, checked when read, locked while in use."""
