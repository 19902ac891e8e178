import { oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

/** Ended requests of programs. A code that is sent again within this time still ends what it gave. */
export function programRetention(): RetentionRule[] {
  return [
    {
      kind: 'program-authorizations',
      days: 1,
      ...oldRows({
        table: 'program_authorization',
        key: ['authorization_id'],
        cursorType: 'uuid',
        old: (time) => `r.expires_at < ${time}`,
      }),
    },
  ];
}
