package tutti.wire;

/**
 * Who says a statement, as far as it depends on that what can be proven of it and what is to be asked for. Immutable.
 *
 * @param standardStrings whether backslashes are letters like any other in plain strings
 * @param role as which it is executed
 * @param temporaries whether the session has been seen to have temporary objects: then a row's type tells whether it is one of the table's
 *            own, which takes the server longer to find out than that there are none (docs/decisions/0191)
 */
record StatementContext(boolean standardStrings, String role, boolean temporaries) {}
