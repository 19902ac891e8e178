/** Begins the message of a statement that fails itself, in a warehouse that has no function for it. */
export const raisedMark = 'headgate: ';
