"""Types that stand for a stack or server of another Heat service or deployment tool."""
