#!/usr/bin/env node
// The command of the packed agent (scripts/pack-agent.ts puts the compiled program beside it). Plain JavaScript that
// any Node.js of the last years reads, so that an old one is told what it lacks and not a syntax error.
import { readFileSync } from 'node:fs';

const neededNode = 24;
const [wanted] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const help = `headgate-agent ${version}: claims work from a Headgate server and runs pipelines here. It opens no port.

Usage: headgate-agent [--help | --version]

It is told by the environment (or by \`node --env-file\`, systemd's EnvironmentFile, …):
  HEADGATE_SERVER_URL              address of the server, as https://headgate.example.com; http only to loopback,
                                   unless HEADGATE_AGENT_ALLOW_HTTP=yes
  HEADGATE_AGENT_CLIENT_ID         the client id and
  HEADGATE_AGENT_CLIENT_SECRET     the secret of the agent; or in place of the secret
  HEADGATE_AGENT_CLIENT_SECRET_FILE  a file of mode 0600 that holds the secret, or in place of both
  HEADGATE_AGENT_CREDENTIAL_FILE   a file of mode 0600: {"clientId": "…", "clientSecret": "…", "agentId": "…"}
  HEADGATE_AGENT_ID                which agent this must be; optional, refused when the credential is another's
  HEADGATE_AGENT_DIR               its folder; default .headgate-agent in the working directory
  HEADGATE_AGENT_CONCURRENCY       executions at the same time; default 20
  HEADGATE_AGENT_LOG_LEVEL         debug, info, warn or error; default info
The others are in README.md and docs/configuration.md of Headgate.

It ends in order on SIGTERM and SIGINT: with code 0, and 1 when a setting is missing or bad.
`;

if (wanted === '--version') {
  process.stdout.write(`${version}\n`);
} else if (wanted === '--help') {
  process.stdout.write(help);
} else if (wanted !== undefined) {
  process.stderr.write(
    `headgate-agent: there is no option ${JSON.stringify(wanted)}; see headgate-agent --help\n`,
  );
  process.exitCode = 2;
} else if (Number(process.versions.node.split('.')[0]) < neededNode) {
  process.stderr.write(
    `headgate-agent needs Node.js ${neededNode} or later; this is ${process.version} (${process.execPath}). ` +
      'Install a newer one, or run it by its path: /path/to/node $(command -v headgate-agent)\n',
  );
  process.exitCode = 1;
} else {
  await import(new URL('../dist/main.js', import.meta.url).href);
}
