import { oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

/** Expired invitations. */
export function invitationRetention(): RetentionRule[] {
  return [
    {
      kind: 'invitations',
      days: 1,
      ...oldRows({
        table: 'invitation',
        key: ['invitation_id'],
        cursorType: 'uuid',
        old: (time) => `r.expires_at < ${time}`,
      }),
    },
  ];
}
