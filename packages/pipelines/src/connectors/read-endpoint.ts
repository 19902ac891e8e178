/** Reads one endpoint of a connector profile. */
import { shorten } from '../format/template.ts';
import { connectorNameLimit, connectorParameterLimit, endpointUrlLimit } from './bounds.ts';
import { describeUrlFault, listPlaceholders } from './endpoint-url.ts';
import { describeHeaderFault } from './header.ts';
import {
  type ConnectorEndpoint,
  type ConnectorMethod,
  type ConnectorParameter,
  type ConnectorStructure,
  connectorMethods,
  type RateLimit,
} from './profile.ts';
import { createMemberReader, type Findings, isJsonMap, type MemberReader } from './profile-reader.ts';
import { readAuthenticationOptions, readAuthenticationType } from './read-authentication.ts';
import { readPaging } from './read-paging.ts';
import { readSchema } from './schema.ts';

const methods = Object.fromEntries(connectorMethods.map((method) => [method, method])) as Record<
  string,
  ConnectorMethod
>;

export function readEndpoint(reader: MemberReader, findings: Findings): ConnectorEndpoint {
  const name = reader.requiredText('name');
  const url = readUrl(reader);
  const auth = readAuthenticationType(reader, 'auth') ?? 'NONE';
  const uriParameters = readParameters(reader, 'uriParameters', findings);
  const placeholders = listPlaceholders(url);
  for (const [index, parameter] of uriParameters.entries()) {
    if (parameter.name !== '' && !placeholders.includes(parameter.name))
      findings.add(
        `${reader.at('uriParameters')}[${index}].name`,
        `is "${shorten(parameter.name)}", but the url has no {${shorten(parameter.name)}} in its path: add it to the url or remove the parameter`,
      );
  }
  return {
    id: reader.text('id') ?? name,
    name,
    url,
    httpMethod: reader.word('httpMethod', methods) ?? 'GET',
    auth,
    authenticationOptions: readAuthenticationOptions(reader, auth, findings),
    paging: readPaging(reader.child('paging')),
    headerParameters: readHeaders(reader, findings),
    queryParameters: readParameters(reader, 'queryParameters', findings),
    uriParameters,
    structure: readStructure(reader.child('structure')),
    body: reader.map.body ?? undefined,
    rateLimit: readRateLimit(reader.child('rateLimit')),
  };
}

function readUrl(reader: MemberReader): string {
  const url = reader.text('url') ?? '';
  if (url.trim() === '') {
    if (!reader.has('url') || typeof reader.map.url === 'string')
      reader.refuse('url', 'is missing: write an absolute address such as https://api.example.com/v1/orders');
  } else if (url.length > endpointUrlLimit)
    reader.refuse('url', `has ${url.length} characters; the limit is ${endpointUrlLimit}`);
  else {
    const fault = describeUrlFault(url);
    if (fault !== undefined) reader.refuse('url', fault);
  }
  return url;
}

function readHeaders(reader: MemberReader, findings: Findings): ConnectorParameter[] {
  const headers = readParameters(reader, 'headerParameters', findings);
  for (const [index, { name, value }] of headers.entries()) {
    const fault = name === '' ? undefined : describeHeaderFault(name, value);
    if (fault !== undefined)
      findings.add(`${reader.at('headerParameters')}[${index}]`, `is refused: ${fault}`);
  }
  return headers;
}

/** Each is a name, or an object with `name`, `value` and `required`. */
function readParameters(reader: MemberReader, member: string, findings: Findings): ConnectorParameter[] {
  const parameters = reader.list(member, connectorParameterLimit).flatMap((raw, index) => {
    const place = `${reader.at(member)}[${index}]`;
    if (typeof raw === 'string') {
      if (raw === '' || raw.length > connectorNameLimit)
        findings.add(place, `must be a name of 1 to ${connectorNameLimit} characters`);
      return [{ name: raw, value: undefined, required: false }];
    }
    if (!isJsonMap(raw)) {
      findings.add(place, 'must be an object with a name and a value');
      return [];
    }
    const one = createMemberReader(raw, place, findings);
    return [
      { name: one.requiredText('name'), value: one.text('value'), required: one.yes('required', false) },
    ];
  });
  // Query parameters may be repeated; there they are lists.
  if (member !== 'queryParameters') checkRepeated(parameters, reader.at(member), findings);
  return parameters;
}

function checkRepeated(parameters: readonly ConnectorParameter[], place: string, findings: Findings): void {
  const names = new Set<string>();
  for (const [index, { name }] of parameters.entries()) {
    const key = place.endsWith('headerParameters') ? name.toLowerCase() : name;
    if (names.has(key))
      findings.add(`${place}[${index}].name`, `is "${shorten(name)}" a second time: remove one`);
    names.add(key);
  }
}

function readStructure(reader: MemberReader | undefined): ConnectorStructure {
  return {
    schema: reader === undefined ? undefined : readSchema(reader, 'schema'),
    containedInOuterArray: reader?.yes('containedInOuterArray', false) ?? false,
    repeatingElementPath: reader?.path('repeatingElementPath') ?? [],
  };
}

function readRateLimit(reader: MemberReader | undefined): RateLimit | undefined {
  if (reader === undefined) return undefined;
  const requests = reader.whole('requests', 1);
  if (requests === undefined && !reader.has('requests'))
    reader.refuse('requests', 'is missing: how many requests may be sent in "seconds"');
  return { requests: requests ?? 1, seconds: reader.whole('seconds', 1) ?? 1 };
}
