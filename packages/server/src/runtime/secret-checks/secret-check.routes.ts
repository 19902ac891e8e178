/** Checks with the agents whether the secrets of a project exist. The request waits for the agents. */
import { checkSecretReferences } from '@headgate/contract';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, LongCall, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { type AgentAnswer, askAgent, readAnswers } from '../../kernel/work/agent-request.ts';
import { waitForEnd } from '../../kernel/work/awaited-end.ts';
import { agentsOfCheck, checkedEnvironments, type EnvironmentRow, namedSecrets } from './check-plan.store.ts';
import { insertCheck, keptHours, readPlanOf } from './secret-check.store.ts';
import {
  composeAnswer,
  type PartEnd,
  type Planned,
  pairSecretsWithAgents,
  planCheck,
} from './secret-check.ts';

export interface SecretCheckServices extends Services {
  wakes: Wakes;
  /** How long a request waits for the agents. */
  secretWaitSeconds: number;
  stopping: AbortSignal;
}

type CheckCall = LongCall<typeof checkSecretReferences>;

/** The limit for the secrets of one project. */
const secretLimit = 5_000;
const toldReasons = 5;
/** The subject's name in events. */
const subjectName = 'secrets';

export function secretCheckRoutes({ long }: Endpoints, services: SecretCheckServices): void {
  long(checkSecretReferences, async (call) => {
    // The path of this operation is also that of a reference named `check`: this body means to create one.
    if (call.body.secretName !== undefined)
      throw problem('secret-reference-name-reserved', { name: 'check' });
    const environments = await call.rows(checkedEnvironments, {
      environment_name: call.body.environmentName ?? null,
    });
    const begun =
      (await call.awaited.findEarlier()) ?? (await begin(call, services, await readPlan(call, environments)));
    if ('answer' in begun) return begun.answer;
    const { workId: checkId } = begun.pending;
    const { accountId } = call.scope;
    const { read } = services.database;
    const look = () => readAnswers(read, accountId, checkId);
    const seconds = services.secretWaitSeconds;
    await waitForEnd(services, seconds, checkId, async () => {
      const pending = (await look()).find(({ state }) => state === 'PENDING');
      return pending === undefined ? { ended: true } : { waitsFor: pending.request_id };
    });
    const [plan, answers] = await Promise.all([readPlanOf(read, accountId, checkId), look()]);
    if (plan === undefined) throw problem('project-not-found', { projectId: call.params.projectId });
    const { planned, unchecked } = plan;
    const isSilent = answers.length > 0 && answers.every(({ state }) => state === 'PENDING');
    if (isSilent) throw problem('secret-check-timeout', { names: listAgentNames(planned), seconds });
    const ends = new Map(answers.map((answer) => [answer.request_id, readFindings(answer)]));
    return call.awaited.finish(checkId, { body: composeAnswer(planned, ends, unchecked) });
  });
}

/** Throws `secret-reference-not-found`, `unknown-environment` and `unknown-agent`. */
async function readPlan({ body, rows, newId }: CheckCall, environments: readonly EnvironmentRow[]) {
  const { secretReferenceNames: names, environmentName, agentId } = body;
  const secrets = await rows(namedSecrets, { names: names ?? null, limit: secretLimit });
  const missing = names?.find((name) => !secrets.some(({ reference }) => reference === name));
  if (missing !== undefined) throw problem('secret-reference-not-found', { name: missing });
  if (environmentName !== undefined && environments.length === 0)
    throw problem('unknown-environment', { name: environmentName });
  const only = agentId === undefined ? undefined : toUuid(agentId);
  const pairs = pairSecretsWithAgents(secrets, environments, only);
  const { askings } = pairs;
  const ids = new Set([...askings.map((asking) => asking.agentId), only].filter((id) => id !== undefined));
  const secretNames = [...new Set(askings.map(({ at }) => at.secretName))];
  const agents =
    ids.size === 0 ? [] : await rows(agentsOfCheck, { agent_ids: [...ids], secret_names: secretNames });
  if (agentId !== undefined && agents.length === 0) throw problem('unknown-agent', { id: agentId });
  return planCheck(pairs, agents, newId);
}

/** Throws `no-agent-to-ask`. */
function begin(call: CheckCall, services: SecretCheckServices, plan: ReturnType<typeof planCheck>) {
  const { planned, parts } = plan;
  if (planned.length > 0 && parts.length === 0)
    throw problem('no-agent-to-ask', { reasons: listReasons(planned) });
  const { accountId } = call.scope;
  const { projectId } = call.params;
  const checkId = call.newId();
  const until = new Date(call.now.getTime() + services.secretWaitSeconds * 1_000);
  return call.awaited.begin({ workId: checkId, until }, (tx) => {
    insertCheck(tx, { accountId, checkId, projectId }, plan, call.now);
    for (const { workId, agentId, environmentName, secrets } of parts) {
      const agentRequest = {
        accountId,
        requestId: workId,
        groupId: checkId,
        agentId,
        kind: 'secret-check',
        projectId,
        environmentName,
        name: subjectName,
        request: { secrets },
        until,
        keptHours,
      };
      askAgent(tx, services.wakes, agentRequest, call.now);
    }
    const subject = { type: 'secret-check', id: checkId, name: subjectName };
    const after = { ...call.body, secrets: planned.length, agentIds: parts.map(({ agentId }) => agentId) };
    return [{ name: 'secret-check-requested', projectId, subject, after }];
  });
}

const readFindings = ({ state, result, message }: AgentAnswer): PartEnd => ({
  state,
  findings: result === null ? null : JSON.parse(result),
  message,
});

function listReasons(planned: readonly Planned[]): string[] {
  const reasons = planned.flatMap((each) => ('outcome' in each && each.message ? [each.message] : []));
  return [...new Set(reasons)].slice(0, toldReasons);
}

function listAgentNames(planned: readonly Planned[]): string[] {
  const names = planned.flatMap((each) => ('part' in each ? [each.secret.agentName ?? ''] : []));
  return [...new Set(names)].slice(0, toldReasons);
}
