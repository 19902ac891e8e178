import { oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

/** Ended sessions. */
export function sessionRetention(): RetentionRule[] {
  return [
    {
      kind: 'sign-in-sessions',
      days: 1,
      ...oldRows({
        table: 'sign_in_session',
        key: ['session_id'],
        cursorType: 'uuid',
        old: (time) => `r.idle_until < ${time}`,
      }),
    },
  ];
}
