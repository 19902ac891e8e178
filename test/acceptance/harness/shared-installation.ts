/**
 * One installation for several test files, because its start takes longer than their tests. For files that
 * change nothing that another one of them could see: no setting, no agent, no process.
 */
import { afterTestGroup } from '../../../scripts/run-test-group.ts';
import { Installation } from './installation.ts';

let started: Promise<Installation> | undefined;

/** The installation of this process, which is removed after the last file. */
export function sharedInstallation(): Promise<Installation> {
  started ??= start();
  return started;
}

async function start(): Promise<Installation> {
  // The APIs that connectors call are on loopback.
  const environment = { HEADGATE_AGENT_EGRESS_ALLOW: '127.0.0.1/32' };
  const headgate = await Installation.create({ environment });
  afterTestGroup(() => headgate.remove());
  await headgate.start();
  return headgate;
}
