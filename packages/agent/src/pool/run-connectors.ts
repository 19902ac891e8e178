/**
 * The endpoints that one run has open. The run's process names a profile of its version and an endpoint in it;
 * the agent reads the profile itself, because its address decides where secrets go.
 */
import { stat } from 'node:fs/promises';
import {
  ConnectorError,
  type ConnectorProfile,
  connectorProfileName,
  describeProfileFinding,
  readProfileText,
} from '@headgate/pipelines';
import type { EndpointCall } from '../connectors/endpoint-call.ts';
import { readTextFile } from '../engine/files/run-files.ts';
import type { Questions } from '../engine/ports/run-messages.ts';
import { followSignals } from '../followed-signals.ts';
import type { RunOptions } from './run-options.ts';

export interface RunConnectors {
  open(request: Questions['connector-open']['question']): Promise<number>;
  fetch(
    request: Questions['connector-page']['question'],
    interrupt: AbortSignal,
  ): Promise<Questions['connector-page']['answer']>;
  close(call: number): void;
  closeAll(): void;
}

/** Endpoints that one run has open. Concurrent iterations have ten at most, and may be nested. */
const openLimit = 200;
/** Profiles of which the parsed form is kept. */
const keptProfiles = 10;
const profileBytes = 5 * 1_048_576;

/** @param locate the place of a file of the run's artifacts. @throws Error if there is none */
export function createRunConnectors(
  { openEndpoint, kill }: Pick<RunOptions, 'openEndpoint' | 'kill'>,
  locate: (artifact: number, path: string) => string,
): RunConnectors {
  const calls = new Map<number, EndpointCall & { close(): void }>();
  const profiles = new Map<string, Promise<ConnectorProfile>>();
  let last = 0;

  function readProfile(place: string, path: string): Promise<ConnectorProfile> {
    const known = profiles.get(place);
    if (known !== undefined) return known;
    const [oldest] = profiles.keys();
    if (profiles.size >= keptProfiles && oldest !== undefined) profiles.delete(oldest);
    const reading = readProfileFile(place, path);
    profiles.set(place, reading);
    return reading;
  }

  return {
    async open({ artifact, path, endpoint: expected, connection, values }) {
      const profile = await readProfile(locate(artifact, path), path);
      const endpoint = profile.endpoints.find(({ id }) => id === expected);
      if (endpoint === undefined) throw new ConnectorError(`${path} has no endpoint "${expected}"`);
      if (calls.size >= openLimit)
        throw new ConnectorError(`the run calls more than ${openLimit} endpoints at the same time`);
      last += 1;
      const call = last;
      calls.set(call, await openEndpoint({ endpoint, connection, values }));
      return call;
    },
    async fetch({ call, page }, interrupt) {
      const opened = calls.get(call);
      if (opened === undefined) throw new ConnectorError('the endpoint is not open');
      const { controller, release } = followSignals([interrupt, kill]);
      const { url, status, headers, text } = await opened.fetch(page, controller.signal).finally(release);
      const { link, 'content-type': contentType } = headers;
      return {
        url,
        status,
        text,
        ...(link === undefined ? {} : { link }),
        ...(contentType === undefined ? {} : { contentType }),
      };
    },
    close(call) {
      calls.get(call)?.close();
      calls.delete(call);
    },
    closeAll() {
      for (const call of calls.values()) call.close();
      calls.clear();
    },
  };
}

async function readProfileFile(place: string, path: string): Promise<ConnectorProfile> {
  if (connectorProfileName(path) === undefined)
    throw new ConnectorError(`"${path}" is not a connector profile`);
  const { size } = await stat(place);
  if (size > profileBytes)
    throw new ConnectorError(
      `${path} has ${size} bytes; the limit of a connector profile is ${profileBytes}`,
    );
  const { profile, findings } = readProfileText(await readTextFile(place, path));
  if (profile !== undefined) return profile;
  throw new ConnectorError(
    `${path} cannot be used: ${findings.slice(0, 3).map(describeProfileFinding).join('; ')}`,
  );
}
