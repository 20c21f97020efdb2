"""Files of 0.1 as columns and pages of later versions (`v0_1_files`), and their statistics (`v0_1_statistics`)."""
