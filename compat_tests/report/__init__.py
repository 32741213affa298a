"""Reports of runs, for people and for programs: console, JUnit, HTML, badge, capture, pages of the docs."""
