/** Accounts, and callers with any roles in them. */
import { randomUUID } from 'node:crypto';
import type { AccountRole, EnvironmentRole, ProjectRole } from '@headgate/contract';
import { clientSecretPurpose, generateClientId, insertCredential } from '../src/access/credentials/index.ts';
import type { Clock } from '../src/kernel/clock.ts';
import { statement } from '../src/kernel/database/database.ts';
import { generateSecret, Secret } from '../src/kernel/security/sealed.ts';
import { tokenLifetimeSeconds } from '../src/kernel/security/signing-keys.ts';
import type { Dependencies } from '../src/main/deps.ts';
import { makeAccount } from '../src/main/provisioning.ts';
import { createGraphWork } from '../src/records/lineage/lineage-graph.work.ts';
import { type Client, createClient, type Transport } from './client.ts';
import { endWithEdit } from './edited-task.ts';
import { type AddedPasskey, addPasskey } from './passkeys.ts';
import { createProjectWith, type TestProject } from './project.ts';
import { doDueWork } from './server-work.ts';
import { type Browser, signInByLink } from './sign-in.ts';

export type Grant =
  | { projectId: string; role: ProjectRole }
  | { projectId: string; environmentName: string; role: EnvironmentRole };

export interface Actor extends Client {
  actorId: string;
  clientId: string;
  secret: Secret;
  token(): Promise<string>;
}

/** A user of the account, as a caller by a personal credential. */
export interface UserActor extends Actor {
  userName: string;
  /** The personal credential. */
  credentialId: string;
  /** The groups that give its roles: that of the account role first, if there is one. */
  groupIds: string[];
}

export interface Account {
  accountId: string;
  /** The time of its server, which stands still: real time could be of the next day. */
  now(): Date;
  /** A Super Admin of the account. */
  admin: Actor;
  /** A caller with this account role and these roles in projects and environments. */
  actor(role: AccountRole, ...grants: Grant[]): Promise<Actor>;
  /** A user in a group for each of these roles. Without an account role it is a MEMBER. */
  user(role?: AccountRole, ...grants: Grant[]): Promise<UserActor>;
  /** Signs a user in by a link. Requests with the cookie are the browser's. */
  signIn(userId: string): Promise<Browser>;
  /** Adds a passkey to a user, who signs in for it. */
  addPasskey(userId: string): Promise<AddedPasskey>;
  /** A token of a program in which the user is signed in. */
  signInProgram(userId: string): Promise<string>;
  /** Registers an agent; agent.ts speaks for it. */
  agent(name?: string, input?: { agentType?: string; status?: string }): Promise<RegisteredAgent>;
  /** Marks a streaming pipeline as running. No version starts one. */
  runStreamingPipeline(streamingPipelineId: string): Promise<void>;
  /** Adds a call to an AI task that waits for a decision, and returns its id. No model proposes one here. */
  waitingCall(taskId: string): Promise<string>;
  /** Ends an AI task that has written a file. */
  endTaskWithEdit(taskId: string): Promise<void>;
  /** Puts the runs that have ended into the graph of lineage; the server does this every second. */
  updateLineage(): Promise<void>;
  /** Creates a project of the admin with the environments dev and prod. */
  project(name?: string): Promise<TestProject>;
}

export interface RegisteredAgent {
  agentId: string;
  name: string;
  clientId: string;
  secret: Secret;
  /** A client for the agent protocol: paths below /agent/v1. */
  client: Client;
}

interface IssuedCredential {
  credentialId: string;
  clientId: string;
  clientSecret: string;
}

/** The part of a test server that an account needs. */
interface AccountServer {
  deps: Dependencies;
  clock: Clock;
  transport: Transport;
}

const grantRole = statement(
  {
    parameters: {
      account_id: 'uuid',
      credential_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text?',
      role: 'text',
    },
  },
  'insert into role_grant (account_id, credential_id, project_id, environment_name, role) values ($account_id, $credential_id, $project_id, $environment_name, $role)',
);
const registerAgent = statement(
  {
    parameters: {
      account_id: 'uuid',
      agent_id: 'uuid',
      name: 'text',
      agent_type: 'text',
      status: 'text',
      client_id: 'text',
      secret_digest: 'bytea',
      created_at: 'timestamptz',
    },
  },
  `
  insert into agent (account_id, agent_id, name, description, agent_type, cloud_provider, deployment, status, client_id, secret_digest, created_at)
  values ($account_id, $agent_id, $name, '', $agent_type, 'local', 'local', $status, $client_id, $secret_digest,
    $created_at)`,
);
const markRunning = statement(
  { parameters: { account_id: 'uuid', streaming_pipeline_id: 'uuid' } },
  `update streaming_pipeline set status = 'running'
  where account_id = $account_id and streaming_pipeline_id = $streaming_pipeline_id`,
);

/** Its number is one that no answer of the assistant reaches, which may propose calls at the same moment. */
const addWaitingCall = statement(
  { parameters: { account_id: 'uuid', task_id: 'uuid', call_id: 'uuid', now: 'timestamptz' } },
  `
  insert into ai_call (account_id, task_id, call_id, turn, number, group_id, tool_name, input, input_digest, status,
    sender_id, permission_message, expires_at)
  select $account_id, $task_id, $call_id, 1, 1000, $call_id, 'run_pipeline', '{"pipelineName":"main"}', '', 'WAITING',
    t.sender_id, '{"title":"Run a pipeline","body":"Run main in dev."}', $now::timestamptz + interval '1 day'
  from ai_task t where t.account_id = $account_id and t.task_id = $task_id`,
);

export async function createAccount(server: AccountServer): Promise<Account> {
  const { deps } = server;
  const accountId = await deps.database.transaction((tx) => makeAccount(deps, tx, `account ${randomUUID()}`));

  async function actor(role: AccountRole, ...grants: Grant[]): Promise<Actor> {
    const credentialId = deps.newId();
    const [clientId, secret] = [generateClientId(), generateSecret()];
    await deps.database.transaction((tx) => {
      const made = { credentialId, name: `a ${role}`, clientId, secret, accountRole: role };
      insertCredential(tx, deps.sealer, accountId, made, deps.clock.now());
      for (const grant of grants) {
        const environmentName = 'environmentName' in grant ? grant.environmentName : null;
        tx.send(grantRole, {
          account_id: accountId,
          credential_id: credentialId,
          project_id: grant.projectId,
          environment_name: environmentName,
          role: grant.role,
        });
      }
    });
    const token = createTokenSource(server, { accountId, actorId: credentialId, clientId }, 'dpc');
    return {
      ...createClient(server.transport, '/dpc/v1', token),
      actorId: credentialId,
      clientId,
      secret,
      token,
    };
  }

  const admin = await actor('SUPER_ADMIN');

  async function user(role?: AccountRole, ...grants: Grant[]): Promise<UserActor> {
    const userName = `user-${randomUUID()}@example.com`;
    const made = (await admin.post<{ userId: string }>('/users', { userName })).body;
    const path = `/users/${made.userId}/credentials`;
    const groupIds: string[] = [];
    for (const grant of [...(role === undefined ? [] : [{ role }]), ...grants]) {
      const group = { displayName: `group ${randomUUID()}`, ...grant };
      const { groupId } = (await admin.post<{ groupId: string }>('/groups', group)).body;
      await admin.post(`/groups/${groupId}/members`, { userIds: [made.userId] });
      groupIds.push(groupId);
    }
    const issued = (await admin.post<IssuedCredential>(path, { name: 'personal' })).body;
    const { credentialId, clientId, clientSecret } = issued;
    const owner = { accountId, actorId: made.userId, clientId, userCredentialId: credentialId };
    const token = createTokenSource(server, owner, 'dpc');
    return {
      ...createClient(server.transport, '/dpc/v1', token),
      actorId: made.userId,
      userName,
      credentialId,
      groupIds,
      clientId,
      secret: new Secret(clientSecret),
      token,
    };
  }

  return {
    accountId,
    now: () => server.clock.now(),
    signIn: (userId) => signInByLink(server.transport, admin, userId),
    addPasskey: async (userId) =>
      addPasskey(server.transport, await signInByLink(server.transport, admin, userId)),
    async signInProgram(userId) {
      const { sessionId } = await signInByLink(server.transport, admin, userId);
      const owner = { accountId, actorId: userId, isUser: true, sessionId };
      return deps.tokens.issue({ ...owner, clientId: 'headgate-cli' }, 'dpc');
    },
    admin,
    actor,
    user,
    async agent(name = `agent ${randomUUID().slice(0, 8)}`, input = {}) {
      const agentId = deps.newId();
      const [clientId, secret] = [generateClientId(), generateSecret()];
      const { agentType = 'data_productivity_cloud', status = 'pending' } = input;
      const digest = deps.sealer.digest(secret.reveal(), clientSecretPurpose);
      await deps.database.read(registerAgent, {
        account_id: accountId,
        agent_id: agentId,
        name,
        agent_type: agentType,
        status,
        client_id: clientId,
        secret_digest: digest,
        created_at: deps.clock.now(),
      });
      const token = createTokenSource(server, { accountId, actorId: agentId, clientId }, 'agent');
      return { agentId, name, clientId, secret, client: createClient(server.transport, '/agent/v1', token) };
    },
    async runStreamingPipeline(streamingPipelineId) {
      await deps.database.read(markRunning, {
        account_id: accountId,
        streaming_pipeline_id: streamingPipelineId,
      });
    },
    async waitingCall(taskId) {
      const callId = deps.newId();
      const now = deps.clock.now();
      await deps.database.read(addWaitingCall, {
        account_id: accountId,
        task_id: taskId,
        call_id: callId,
        now,
      });
      return callId;
    },
    endTaskWithEdit: (taskId) => endWithEdit(deps.database, { accountId, taskId }, deps.clock.now()),
    async updateLineage() {
      await doDueWork(server.deps, createGraphWork(server.deps));
    },
    project: (name) => createProjectWith(admin, name),
  };
}

/** Returns a token that is valid for some minutes by the server's clock. */
function createTokenSource(
  { deps, clock }: AccountServer,
  owner: { accountId: string; actorId: string; clientId: string; userCredentialId?: string },
  surface: 'dpc' | 'agent',
): () => Promise<string> {
  let held: { token: Promise<string>; until: number } | undefined;
  return () => {
    const now = clock.now().getTime();
    if (held === undefined || held.until <= now) {
      held = { token: deps.tokens.issue(owner, surface), until: now + (tokenLifetimeSeconds - 300) * 1_000 };
    }
    return held.token;
  };
}
