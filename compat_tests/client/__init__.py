"""The client role: scripted bookies, a real metadata store, and a driver that makes a client do things."""
