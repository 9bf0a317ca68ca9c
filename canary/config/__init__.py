"""What a user wrote, checked and turned into frozen specs."""
