"""The client role: scripted bookies, a real metadata store, and a driver that makes the judged client act."""
