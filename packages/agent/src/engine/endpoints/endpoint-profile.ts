/** Finds the endpoint that a component names, in the profiles of its own version. */
import {
  type ConnectorEndpoint,
  type ConnectorProfile,
  connectorProfileName,
  connectorProfilePath,
  describeProfileFinding,
  type EndpointSource,
  findNamedEndpoint,
  PermanentFault,
  readProfileText,
} from '@headgate/pipelines';
import type { ArtifactFiles } from '../ports/ports.ts';

/** @throws PermanentFault that says what the version has */
export async function findEndpoint(
  files: ArtifactFiles,
  { profile: expected, endpoint: name }: Pick<EndpointSource, 'profile' | 'endpoint'>,
): Promise<{ path: string; endpoint: ConnectorEndpoint }> {
  const { path, profile } = await findProfile(files, expected);
  const endpoint = findNamedEndpoint(profile.endpoints, name);
  if (endpoint !== undefined) return { path, endpoint };
  const known = profile.endpoints.slice(0, 20).map((each) => `"${each.name}"`);
  throw new PermanentFault(
    `the connector profile "${expected}" has no endpoint "${name}": it has ${known.length === 0 ? 'none' : known.join(', ')}`,
  );
}

async function findProfile(
  files: ArtifactFiles,
  expected: string,
): Promise<{ path: string; profile: ConnectorProfile }> {
  const direct = connectorProfilePath(expected);
  if (files.has(direct)) return { path: direct, profile: await readFile(files, direct) };
  const paths = files.paths.filter((path) => connectorProfileName(path) !== undefined);
  for (const path of paths) {
    const { profile } = readProfileText((await files.read(path)) ?? '');
    if (profile?.name === expected) return { path, profile };
  }
  const known = paths.slice(0, 20).map((path) => `"${connectorProfileName(path)}"`);
  throw new PermanentFault(
    `the version has no connector profile "${expected}": ${known.length === 0 ? `publish it as ${direct}` : `it has ${known.join(', ')}`}`,
  );
}

async function readFile(files: ArtifactFiles, path: string): Promise<ConnectorProfile> {
  const { profile, findings } = readProfileText((await files.read(path)) ?? '');
  if (profile !== undefined) return profile;
  throw new PermanentFault(
    `${path} cannot be used: ${findings.slice(0, 3).map(describeProfileFinding).join('; ')}`,
  );
}
