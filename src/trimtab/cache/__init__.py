"""What a server holds, kept here: reflector → store → indexes → informer → lister.

What belongs here is remembering objects and telling of changes. Asking the server is the client's; what to do about a
change is a controller's.
"""
