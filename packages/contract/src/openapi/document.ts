/**
 * The OpenAPI 3.1 document, derived from the operations: `/openapi.json`, and the file of that name in the
 * repository.
 */
import { ScimError } from '../directory/scim-error.ts';
import { type PublishedExample, publishedExamples } from '../example.ts';
import { headings } from '../headings.ts';
import { bodyIsOptional, commonProblems, type Operation, ProblemDetail } from '../operation.ts';
import { type Grant, permissions } from '../permission.ts';
import { problems } from '../problem.ts';
import { operations } from '../resources.ts';
import { type Parameter, parametersOf, sharedParameters } from './parameters.ts';
import {
  componentName,
  headerComponents,
  ownProblems,
  responseComponents,
  responsesOf,
} from './responses.ts';
import { type SchemaWriter, schemaWriter } from './schemas.ts';

const isShown = (operation: Operation) => operation.surface === 'dpc';

interface Written {
  operation: Operation;
  parameters: Parameter[];
  /** What stands before and after the parameters. */
  head: object;
  tail: object;
}

export function openApiDocument(about: { version: string; serverUrl: string }): object {
  const shown = operations.filter(isShown);
  const shownHeadings = headings.filter((heading) => shown.some(({ tag }) => tag === heading.tag));
  const examples = publishedExamples(about.serverUrl);
  const schemas = schemaWriter();
  schemas.write(ProblemDetail);
  schemas.write(ScimError);
  const written = shown.map((operation) => writeOperation(operation, examples[operation.id], schemas));
  const shared = sharedParameters(written.flatMap(({ parameters }) => parameters));
  const paths: Record<string, Record<string, object>> = {};
  for (const { operation, parameters, head, tail } of written) {
    const path = paths[operation.path] ?? {};
    const listed = parameters.length === 0 ? {} : { parameters: parameters.map(shared.write) };
    path[operation.method.toLowerCase()] = { ...head, ...listed, ...tail };
    paths[operation.path] = path;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version: about.version,
      description:
        'A self-hosted control plane for data pipelines: projects, environments, variables, artifacts, agents and executions.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${about.serverUrl}/dpc` }],
    security: [{ token: [] }],
    tags: shownHeadings.map(({ tag, about: description }) => ({ name: tag, description })),
    paths,
    components: {
      securitySchemes: { token: securityScheme(about.serverUrl) },
      parameters: shared.components,
      headers: headerComponents,
      responses: responseComponents(shown),
      schemas: schemas.components(),
    },
    'x-common-problems': commonProblems,
    'x-problems': Object.fromEntries(
      Object.entries(problems).map(([code, { status, when }]) => [code, { status, when }]),
    ),
  };
}

function securityScheme(serverUrl: string): object {
  const tokenUrl = `${serverUrl}/oauth/dpc/token`;
  return {
    type: 'oauth2',
    flows: { clientCredentials: { tokenUrl, scopes: { 'pipeline-execution': 'All operations' } } },
  };
}

function writeOperation(
  operation: Operation,
  example: PublishedExample | undefined,
  schemas: SchemaWriter,
): Written {
  const own = ownProblems(operation);
  const head = {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: description(operation),
    ...permissionNote(operation),
    ...(own.length === 0 ? {} : { 'x-problems': own }),
  };
  const tail = {
    ...requestBody(operation, example?.request, schemas),
    responses: responsesOf(operation, example?.answer, schemas),
  };
  return { operation, parameters: parametersOf(operation, example?.request, schemas), head, tail };
}

function description(operation: Operation): string {
  const parts = operation.description === undefined ? [] : [operation.description];
  for (const permission of [operation.permission, operation.alsoRequires])
    if (permission !== undefined) parts.push(permissionSentence(permissions[permission]));
  return parts.join('\n\n');
}

function permissionSentence({ may, account, project, environment }: Grant): string {
  const columns = [
    ['account', account],
    ['project', project],
    ['environment', environment],
  ] as const;
  const roles = columns
    .filter(([, list]) => list.length > 0)
    .map(([where, list]) => `${list.join(', ')} in the ${where}`);
  return `Requires permission to ${may}. Roles that have it: ${roles.join('; ')}.`;
}

function permissionNote({ permission, environmentFrom, projectFrom, alsoRequires }: Operation): object {
  if (permission === undefined) return {};
  return {
    'x-permission': permission,
    ...(environmentFrom === undefined ? {} : { 'x-environment-from': environmentFrom }),
    ...(projectFrom === undefined ? {} : { 'x-project-from': projectFrom }),
    ...(alsoRequires === undefined ? {} : { 'x-also-requires': alsoRequires }),
  };
}

function requestBody(
  operation: Operation,
  sent: PublishedExample['request'] | undefined,
  schemas: SchemaWriter,
): object {
  if (operation.mediaType === 'multipart/form-data') {
    const schema = {
      type: 'object',
      description: 'One part for each file. The name of a part is the path of its file.',
      additionalProperties: { type: 'string', contentMediaType: 'text/plain' },
    };
    const example = sent?.parts === undefined ? {} : { example: sent.parts };
    return { requestBody: { required: true, content: { 'multipart/form-data': { schema, ...example } } } };
  }
  if (operation.body === undefined) return {};
  const schema = schemas.writeAs(componentName(operation.id, 'Request'), operation.body);
  const example = sent?.body === undefined ? {} : { example: sent.body };
  return {
    requestBody: {
      required: !bodyIsOptional(operation),
      content: { 'application/json': { schema, ...example } },
    },
  };
}
