import { guardedRead } from '../../kernel/security/guarded-read.ts';

/** The delivery rule that published a version last, for the caller of a request that wants its name. */
export const ruleOfVersion = guardedRead(
  { parameters: { environment_name: 'text', version_name: 'text' }, row: { branch_name: 'text' } },
  `
  select branch_name from delivery_rule
  where account_id = $account_id and project_id = $project_id and environment_name = $environment_name
    and version_name = $version_name
  limit 1`,
);
