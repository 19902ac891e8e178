/**
 * Which artifacts an agent may read: all of its account. With restricted access, only those of the places
 * on its allowlist and those of the work it holds, which may include shared pipelines and places since
 * removed from the list.
 */
import { type Read, statement } from '../../kernel/database/database.ts';
import type { CallingAgent } from './known-agents.ts';

/** Digests of the manifests of allowed places. */
const manifestsOfAllowedPlaces = `
  select v.manifest_digest as digest from agent_allowed_place p
  join artifact_version v on v.account_id = p.account_id and v.project_id = p.project_id
    and (p.environment_name is null or p.environment_name = v.environment_name)
  where p.account_id = $account_id and p.agent_id = $agent_id`;
const heldExecutions = `
  work w join (
    select account_id, execution_id, manifest_digest, shared_artifacts from pipeline_execution
    union all
    select account_id, test_execution_id, manifest_digest, shared_artifacts from test_execution
  ) e on e.account_id = w.account_id and e.execution_id = w.work_id
  where w.account_id = $account_id and w.agent_id = $agent_id and w.state in ('held', 'silent')`;
const manifestsOfHeldWork = `
  select held.digest from (
    select unnest(array_append(array(
      select shared ->> 'artifactDigest' from jsonb_array_elements(coalesce(e.shared_artifacts, '[]')) as shared), e.manifest_digest)) as digest
    from ${heldExecutions}) held`;

/** No row if the agent was deleted. */
const createMayRead = (condition: string) =>
  statement(
    { parameters: { account_id: 'uuid', agent_id: 'uuid', digest: 'text' }, row: { may_read: 'boolean' } },
    `
  select case when a.restricted_access then (${condition}) else true end as may_read
  from agent a where a.account_id = $account_id and a.agent_id = $agent_id`,
  );

const ofManifest = createMayRead(`
  exists (select from (${manifestsOfAllowedPlaces}) allowed where allowed.digest = $digest)
  or exists (select from (${manifestsOfHeldWork}) named where named.digest = $digest)`);

// From the blob to its manifests: both steps use an index. `offset 0` keeps the planner from scanning all
// chunks for an early match.
const ofBlob = createMayRead(`
  exists (
    select from (
      select account_id, digest from manifest_chunk where account_id = $account_id
        and digests @> array[decode($digest, 'hex')] offset 0) c
    join manifest m on m.account_id = c.account_id and m.chunks @> array[c.digest]
    where (
      m.digest in (${manifestsOfHeldWork}) or exists (
        select from (${manifestsOfAllowedPlaces}) allowed where allowed.digest = m.digest)))`);

export function mayReadManifest(read: Read, agent: CallingAgent, digest: string): Promise<boolean> {
  return isAllowed(read, ofManifest, agent, digest);
}

export function mayReadBlob(read: Read, agent: CallingAgent, sha256: string): Promise<boolean> {
  return isAllowed(read, ofBlob, agent, sha256);
}

const hexadecimal = /^[0-9a-f]{64}$/;

async function isAllowed(
  read: Read,
  ask: typeof ofManifest,
  { accountId, agentId }: CallingAgent,
  digest: string,
): Promise<boolean> {
  if (!hexadecimal.test(digest)) return false;
  const [row] = await read(ask, { account_id: accountId, agent_id: agentId, digest });
  return row?.may_read === true;
}
