/** Reads a connector profile and lists what is wrong in it. Unknown members are ignored. */
import { shorten } from '../format/template.ts';
import { endpointLimit } from './bounds.ts';
import type { ApiKey, ConnectorEndpoint, ConnectorProfile, ProfileFinding } from './profile.ts';
import { createFindings, createMemberReader, type Findings, isJsonMap } from './profile-reader.ts';
import { readEndpoint } from './read-endpoint.ts';

export type ProfileResult =
  | { profile: ConnectorProfile; findings: readonly [] }
  | { profile?: undefined; findings: readonly ProfileFinding[] };

/** @param json the profile as parsed JSON */
export function readProfile(json: unknown): ProfileResult {
  const findings = createFindings();
  if (!isJsonMap(json)) {
    findings.add('', 'a connector profile must be an object');
    return { findings: findings.list };
  }
  const reader = createMemberReader(json, '', findings);
  const name = reader.requiredText('name');
  const endpoints = reader.list('endpoints', endpointLimit).flatMap((raw, index) => {
    const place = `endpoints[${index}]`;
    if (isJsonMap(raw)) return [readEndpoint(createMemberReader(raw, place, findings), findings)];
    findings.add(place, 'must be an object');
    return [];
  });
  if (findings.list.length === 0) {
    checkUnique(endpoints, findings);
    checkKeys(endpoints, findings);
  }
  return findings.list.length === 0
    ? { profile: { name, endpoints }, findings: [] }
    : { findings: findings.list };
}

/** Reads the text of a profile's file. */
export function readProfileText(text: string): ProfileResult {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const reason = error instanceof Error ? shorten(error.message) : 'it is malformed';
    return { findings: [{ path: '', message: `the connector profile is not JSON: ${reason}` }] };
  }
  return readProfile(json);
}

/** A finding in one line. */
export function describeProfileFinding({ path, message }: ProfileFinding): string {
  return path === '' ? message : `"${path}" ${message}`;
}

/** A pipeline names an endpoint by its name or id, so one must not mean two. */
function checkUnique(endpoints: readonly ConnectorEndpoint[], findings: Findings): void {
  for (const member of ['id', 'name'] as const) {
    const places = new Map<string, number>();
    for (const [index, endpoint] of endpoints.entries()) {
      const first = places.get(endpoint[member]);
      if (first === undefined) places.set(endpoint[member], index);
      else
        findings.add(
          `endpoints[${index}].${member}`,
          `is "${shorten(endpoint[member])}", as that of endpoints[${first}]: use another one`,
        );
    }
  }
}

/** The connection gives an API key by its name, so one name stands for one key. */
function checkKeys(endpoints: readonly ConnectorEndpoint[], findings: Findings): void {
  const known = new Map<string, ApiKey>();
  for (const [index, endpoint] of endpoints.entries()) {
    for (const option of endpoint.authenticationOptions) {
      if (option.type !== 'API_KEY') continue;
      for (const key of option.keys) {
        const other = known.get(key.name.toLowerCase());
        if (other === undefined) known.set(key.name.toLowerCase(), key);
        else if (other.addTo !== key.addTo || other.name !== key.name)
          findings.add(
            `endpoints[${index}].authenticationOptions`,
            `has the API key "${shorten(key.name)}" in another place or spelling than another endpoint: the name of a key is unique in its profile`,
          );
      }
    }
  }
}
