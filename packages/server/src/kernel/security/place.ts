/** Reads the project and environment that a permission check is for from a validated request. */
import type { EnvironmentSource, Operation } from '@headgate/contract';

export interface Place {
  /** Null for an operation of the account. */
  projectId: string | null;
  /** Null if the operation names no environment, or its handler checks each environment. */
  environmentName: string | null;
}

type Parts = Readonly<Record<'params' | 'query' | 'headers' | 'body', unknown>>;

/**
 * Creates a function that reads the declared members and nothing else (decisions.md §3). The request must be
 * validated.
 */
export function createPlaceReader(operation: Operation): (request: Parts) => Place {
  const { path, projectFrom = path.includes('{projectId}') ? 'params.projectId' : undefined } = operation;
  const projectOf = projectFrom === undefined ? () => null : createTextReader(projectFrom);
  const environmentOf = isMember(operation.environmentFrom)
    ? createTextReader(operation.environmentFrom)
    : () => null;
  return (request) => ({ projectId: projectOf(request), environmentName: environmentOf(request) });
}

type MemberSource = Exclude<EnvironmentSource, 'resource' | 'items'>;

function isMember(source: EnvironmentSource | undefined): source is MemberSource {
  return source !== undefined && source !== 'resource' && source !== 'items';
}

function createTextReader(source: MemberSource): (request: Parts) => string {
  const [part, name] = source.split('.', 2) as [keyof Parts, string];
  return (request) => {
    const found = (request[part] as Readonly<Record<string, unknown>> | undefined)?.[name];
    // Without an environment the check would accept a role in any environment.
    if (typeof found !== 'string')
      throw new Error(`The request has no ${source}, which the permission check requires.`);
    return found;
  };
}
