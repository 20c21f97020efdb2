"""Files of 0.1 as columns and pages of later ones (`v0_1_files`), and the statistics they hold (`v0_1_statistics`)."""
