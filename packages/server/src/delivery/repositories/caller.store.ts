import { guardedRead } from '../../kernel/security/guarded-read.ts';

/** The name of the caller, for the author of a commit. */
export const callerOfRequest = guardedRead(
  { row: { name: 'text' } },
  'select name from principal where account_id = $account_id and principal_id = $principal_id',
);
