"""What is said to people and what they say: checked arguments, names, numbers and tables as text; loading."""
