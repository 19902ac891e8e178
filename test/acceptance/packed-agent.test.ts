/**
 * The agent as a customer installs it: packed, installed from a registry, and run against a remote server.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { ended, Installation, isRoot, pidOf } from './harness/installation.ts';
import { Project, steps } from './harness/project.ts';
import { type Registry, startRegistry } from './harness/registry.ts';

const pipeline = steps(
  ['Fill', 'sql-script', { sqlScript: "create table city as select 'Oslo' as name, 1 + 1 as rank" }],
  [
    'Look',
    'query-to-scalar',
    { mode: 'Advanced', query: 'select rank from city', scalarVariableMapping: [['rank', 'rank']] },
  ],
  [
    'Check',
    'assert-table',
    { tableName: 'city', exists: 'Yes', rowCountComparisonType: 'Equal To', rowCountValue: '1' },
  ],
  [
    'Script',
    'python-pushdown',
    { pythonScript: 'print(rank, session.sql("select name from city").collect()[0].NAME)' },
  ],
);
const withVariable = JSON.parse(pipeline);
withVariable.pipeline.variables = {
  rank: {
    metadata: { type: 'NUMBER', description: '', scope: 'COPIED', visibility: 'PRIVATE' },
    defaultValue: '0',
  },
};

describe('the packed agent', () => {
  let headgate: Installation;
  let registry: Registry;
  let agent: ChildProcess | undefined;
  let folder: string;
  let output = '';
  const command = () => join(folder, 'node_modules/.bin/headgate-agent');
  const path = () => `${dirname(process.execPath)}:${process.env.PATH}`;

  before(async () => {
    headgate = await Installation.create({ environment: { HEADGATE_LOCAL_AGENT: 'off' } });
    registry = await startRegistry();
    folder = join(headgate.folder, 'customer');
    mkdirSync(folder);
  });
  after(async () => {
    if (agent?.exitCode === null) {
      agent.kill('SIGTERM');
      await ended(agent);
    }
    await registry.close();
    await headgate.remove();
  });

  it('is packed by one command, and installs into an empty folder from tarball and registry', async () => {
    const packed = await headgate.run('run', 'pack-agent', '--', join(headgate.folder, 'packed'));
    assert.equal(packed.code, 0, packed.output);
    const tarball = packed.output.trim().split('\n').at(-1) ?? '';
    writeFileSync(join(folder, 'package.json'), '{"name": "customer", "private": true}');
    const cache = join(headgate.folder, 'npm-cache');
    const options = [
      `--registry=${registry.url}`,
      `--cache=${cache}`,
      '--userconfig=/dev/null',
      '--no-audit',
      '--no-update-notifier',
    ];
    const install = spawn('npm', ['install', '--ignore-scripts', ...options, tarball], {
      cwd: folder,
      env: { PATH: path(), HOME: headgate.folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [install.stdout, install.stderr]) stream.on('data', (text) => (said += text));
    await waitUntil('the end of npm install', 400, () => install.exitCode !== null);
    assert.equal(install.exitCode, 0, said);
    // npm requests missing packages only for libraries of other platforms, and the optional peer of pg.
    assert.deepEqual(
      registry.missing.filter((name) => name !== 'pg-native' && !/-(darwin|win32|linux)-/.test(name)),
      [],
    );
    assert.deepEqual(readdirSync(join(folder, 'node_modules/headgate-agent')).toSorted(), [
      ...['LICENSE', 'README.md', 'bin', 'dist', 'node_modules', 'package.json'],
    ]);
  });

  it('prints its version and its settings, and names missing settings', () => {
    const say = (args: readonly string[], environment = {}) =>
      spawnSync(command(), args, { encoding: 'utf8', env: { PATH: path(), ...environment } });
    const { version } = JSON.parse(
      readFileSync(join(folder, 'node_modules/headgate-agent/package.json'), 'utf8'),
    );
    assert.equal(say(['--version']).stdout, `${version}\n`);
    assert.match(say(['--help']).stdout, /HEADGATE_SERVER_URL .*address of the server/);
    assert.equal(say(['--halp']).status, 2);
    const bare = say([]);
    assert.equal(bare.status, 1);
    assert.match(bare.stdout + bare.stderr, /HEADGATE_SERVER_URL is missing/);
    const older = "Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })";
    const old = say([], { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}` });
    assert.equal(old.status, 1);
    assert.match(old.stderr, /^headgate-agent needs Node\.js 24 or later/);
  });

  it('runs a pipeline of a server without a local agent, opens no port, and stops in order', async () => {
    const credential = await credentialOfAnAgent(headgate);
    const project = await Project.create(headgate.client());
    await project.publish({ 'main.orch.yaml': JSON.stringify(withVariable) });
    const agentFolder = join(headgate.folder, 'agent');
    const file = join(headgate.folder, 'credential.json');
    writeFileSync(file, JSON.stringify(credential), { mode: 0o600 });
    const started = spawn(command(), [], {
      cwd: headgate.folder,
      env: {
        PATH: path(),
        HEADGATE_SERVER_URL: headgate.url,
        HEADGATE_AGENT_CREDENTIAL_FILE: file,
        HEADGATE_AGENT_DIR: agentFolder,
        HEADGATE_AGENT_ALLOW_ROOT: isRoot ? 'yes' : 'no',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    agent = started;
    for (const stream of [started.stdout, started.stderr]) stream.on('data', (text) => (output += text));
    await waitUntil('the agent at its server', 120, () => {
      assert.equal(started.exitCode, null, output);
      return output.includes('connected');
    });
    const { status, message } = await project.run('main', 'dev');
    assert.equal(status, 'SUCCESS', `${message}\n${output}`);
    assert.ok(readdirSync(agentFolder).length > 0);
    assert.deepEqual(portsOf(pidOf(started)), []);
    assert.ok(!output.includes(credential.clientSecret));
    started.kill('SIGTERM');
    assert.equal(await ended(started), 0, output);
  });
});

/** Starts a server without a local agent, and creates an agent. */
async function credentialOfAnAgent(headgate: Installation) {
  await headgate.start();
  const agent = {
    name: 'packed',
    agentType: 'data_productivity_cloud',
    cloudProvider: 'local',
    deployment: 'local',
  };
  const client = headgate.client();
  const { agentId } = await client.ask('POST', '/v1/agents', agent);
  const { clientId, clientSecret } = await client.ask('GET', `/v1/agents/${agentId}/credentials`);
  return { clientId: String(clientId), clientSecret: String(clientSecret), agentId: String(agentId) };
}

/** The addresses on which a process listens. */
function portsOf(pid: number): string[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`).match(/^socket:\[(\d+)\]$/)?.[1] ?? [];
      } catch {
        return [];
      }
    }),
  );
  const listening = '0A';
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((cells) => cells[3] === listening && sockets.has(cells[9] ?? ''))
      .map((cells) => cells[1] ?? ''),
  );
}
