"""The client role: scripted bookies for any client, and the cases."""
