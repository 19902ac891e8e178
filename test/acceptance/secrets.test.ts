/** After common use no secret is in any output or stored file. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { listForms } from '../../packages/server/testing/secret-forms.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import type { ProcessKind } from './harness/processes.ts';
import { endlessSql, Project, pipelineFile, sqlScript, steps } from './harness/project.ts';
import { filesHolding } from './harness/secrets.ts';

const vaultSecret = 'canary of/a "vault"+ \\ sécret, 8f21';
const databasePassword = 'password-of-the-database-7c1e';

describe('secrets', () => {
  let headgate: Installation;
  let secrets: string[];
  let answers: string;
  let credentialFile: string;
  let environments: { kind: ProcessKind; environ: string }[];
  before(async () => {
    headgate = await Installation.create({
      environment: {
        HEADGATE_LOG_LEVEL: 'trace',
        HEADGATE_AGENT_LOG_LEVEL: 'debug',
        PGPASSWORD: databasePassword,
      },
    });
    const start = await headgate.start('node');
    const client = headgate.client();
    const project = await Project.create(client);
    await project.publish({
      'main.orch.yaml': sqlScript('select 1'),
      'bad.orch.yaml': sqlScript('selekt 1'),
    });
    await project.run('main');
    await project.run('bad');
    // Refused requests: a wrong secret, a secret in the URL, a body that is not JSON.
    const wrong = 'a-wrong-secret-that-somebody-typed';
    await headgate
      .client(headgate.clientId, wrong)
      .call('GET', '/v1/projects')
      .catch(() => undefined);
    await client.call('GET', `/v1/projects?client_secret=${headgate.clientSecret}`);
    await fetch(`${headgate.url}/nowhere/${headgate.clientSecret}`);
    await fetch(`${headgate.url}/dpc/v1/projects`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.tokens[0]}`, 'content-type': 'application/json' },
      body: `{"name": "${headgate.clientSecret}`,
    });
    const { output } = await headgate.command('account', 'Other');
    [, credentialFile = ''] = /^credential +(.+)$/m.exec(output) ?? [];
    const { clientSecret: otherSecret } = JSON.parse(readFileSync(credentialFile, 'utf8'));
    assert.ok(!output.includes(otherSecret));
    await writeSecrets(client);
    answers = await useSecrets(client, project);
    // The agent's own secret and tokens must not be in any output either.
    const { agentId } = (await client.ask('GET', '/v1/agents')).results[0];
    const agentSecret = (await client.ask('GET', `/v1/agents/${agentId}/credentials`)).clientSecret;
    const masterKey = readFileSync(join(headgate.dataDirectory, 'master-key'), 'utf8').trim();
    secrets = [
      headgate.clientSecret,
      wrong,
      otherSecret,
      agentSecret,
      masterKey,
      databasePassword,
      ...listForms(vaultSecret),
      ...client.tokens,
    ];
    environments = await environmentsDuringRun(headgate, client);
    await headgate.interrupt(start);
  });
  after(() => headgate.remove());

  it('are not in the output, even at the finest log level', () => {
    for (const secret of secrets) {
      assert.ok(secret.length >= 24, 'there is such a secret');
      assert.equal(headgate.output.includes(secret), false, secret);
    }
    // The three parts of any signed token.
    assert.doesNotMatch(headgate.output, /eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{20,}/);
  });

  it('are not in the steps of runs that print them, fail with them, or use them in names', () => {
    for (const form of listForms(vaultSecret)) assert.equal(answers.includes(form), false, form);
    assert.match(answers, /key = \*\*\*/);
    assert.match(answers, /base64 = \*\*\*/);
    assert.match(answers, /Conversion Error: .*\*\*\*/);
    assert.match(answers, /has no pipeline \\"\*\*\*\\"/);
    assert.match(answers, /has no such secret or key/);
  });

  it('are not in the database, PostgreSQL’s log, artifacts or the agent’s folder', () => {
    const found = filesHolding(secrets, headgate.keptFolders());
    assert.deepEqual(found.map((file) => basename(file)).sort(), [basename(credentialFile), 'master-key']);
  });

  it('are not in the environment of the agent and of the processes for runs', () => {
    assert.ok(environments.length >= 5);
    for (const { kind, environ } of environments)
      assert.doesNotMatch(environ, /SECRET|PASSWORD|MASTER_KEY/, kind);
  });
});

/** Of all processes below the server, while a pipeline runs. */
async function environmentsDuringRun(headgate: Installation, client: ApiClient) {
  const project = await Project.create(client);
  await project.publish({ 'main.orch.yaml': sqlScript(endlessSql) });
  const id = await project.start('main');
  await project.stepRunning(id, 'Script');
  const children = headgate.processes('agent', 'run', 'warehouse', 'postmaster', 'supervisor');
  const found = children.flatMap(({ kind, pid }) => {
    try {
      return { kind, environ: readFileSync(`/proc/${pid}/environ`, 'utf8') };
    } catch {
      // A spare process of runs that has ended.
      return [];
    }
  });
  await project.cancel(id, true);
  return found;
}

/**
 * Writes secrets to the local agent's vault, whole and as one key; and to another vault, which is refused.
 */
async function writeSecrets(client: ReturnType<Installation['client']>): Promise<void> {
  const { results } = await client.ask('GET', '/v1/agents');
  const { agentId } = results[0];
  await waitUntil('the agent has its certificate', 120, async () => {
    const { status } = await client.call('GET', `/v1/agents/${agentId}/certificate`);
    return status === 200;
  });
  const path = `/v1/secrets/${agentId}/secret-value`;
  const secret = { name: 'orders-api', type: 'PASSWORD', value: { password: vaultSecret } };
  const whole = await client.ask('POST', path, { secret });
  assert.deepEqual(
    [whole.resolver_ref, whole.vaultSecretName],
    ['headgate-file://default/orders-api', 'orders-api'],
  );
  const keyed = { ...secret, name: 'orders', key: 'password' };
  assert.equal(
    (await client.ask('POST', path, { secret: keyed })).resolver_ref,
    'headgate-file://default/orders#password',
  );
  const refused = await client.call('POST', `${path}?provider=AWS`, { body: { secret } });
  assert.equal(refused.status, 502);
  assert.match(refused.body.detail, /has no vault of the provider AWS/);
  await client.call('POST', path, { body: { secret: { ...secret, type: vaultSecret } } });
}

const value = '${secret("orders-password")}';

/** All texts about runs that use the secret of the vault, and about one whose secret does not exist. */
async function useSecrets(client: ReturnType<Installation['client']>, project: Project): Promise<string> {
  const make = (name: string, input: object) =>
    client.ask('POST', `${project.path}/secret-references/${name}`, { type: 'PASSWORD', ...input });
  await make('orders-password', { secretName: 'orders', secretKey: 'password' });
  await make('dangling', { secretName: 'nowhere' });
  const variable = { metadata: { type: 'TEXT', visibility: 'PUBLIC', scope: 'SHARED' }, defaultValue: '' };
  const print = (name: string) => ({ variablesToPrint: [[name]] });
  const files = {
    'prints.orch.yaml': pipelineFile(
      'orchestration',
      {
        Start: { type: 'start', transitions: { unconditional: ['Set'] } },
        Set: {
          type: 'update-scalar',
          parameters: { scalarsToUpdate: [['key', '${secret("orders-password")}']] },
          transitions: { success: ['Query'] },
        },
        Query: {
          type: 'query-to-scalar',
          parameters: {
            mode: 'Advanced',
            query: `select base64(encode('${value}')) as b`,
            scalarVariableMapping: [['base64', 'b']],
          },
          transitions: { success: ['Print'] },
        },
        Print: { type: 'print-variables', parameters: print('key'), transitions: { success: ['Encoded'] } },
        Encoded: { type: 'print-variables', parameters: print('base64') },
      },
      { key: variable, base64: variable },
    ),
    'fails.orch.yaml': sqlScript(`select '${value}'::integer`),
    'calls.orch.yaml': steps(['Call', 'run-orchestration', { orchestrationJob: value }]),
    'dangles.orch.yaml': sqlScript('select \'${secret("dangling")}\''),
  };
  await project.publish(files, 'dev', '2');
  const notices: unknown[] = [];
  for (const name of ['prints', 'fails', 'calls', 'dangles']) {
    const execution = await project.run(name);
    assert.equal(execution.status, name === 'prints' ? 'SUCCESS' : 'FAILED', JSON.stringify(execution));
    notices.push(execution, await project.steps(execution.pipelineExecutionId));
  }
  notices.push(
    await client.ask('GET', '/v1/events?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&size=100'),
  );
  notices.push(await client.ask('GET', `${project.path}/secret-references`));
  const checked = await client.ask('POST', `${project.path}/secret-references/check`, {});
  const found = checked.results.map((each: Record<string, unknown>) => [
    each.secretReferenceName,
    each.outcome,
  ]);
  assert.deepEqual(found, [
    ['dangling', 'NOT_FOUND'],
    ['orders-password', 'RESOLVED'],
  ]);
  notices.push(checked);
  return JSON.stringify(notices);
}
