/** Reads the project and environment that a permission check is for from a validated request. */
import type { EnvironmentSource, Operation } from '@headgate/contract';
import type { Problem } from '../http/problems.ts';

export interface Place {
  /** Null for an operation of the account. */
  projectId: string | null;
  /** Null if the operation names no environment, or its handler checks each environment. */
  environmentName: string | null;
  /** What a caller without a role in the project gets instead of `project-not-found`. */
  unknown?: () => Problem;
}

type Parts = Readonly<Record<'params' | 'query' | 'headers' | 'body', unknown>>;

/**
 * Creates a function that reads the declared members and nothing else. The request must be
 * validated.
 */
export function createPlaceReader(operation: Operation): (request: Parts) => Place {
  const projectOf = operation.path.includes('{projectId}')
    ? createTextReader('params.projectId')
    : isBodyMember(operation.projectFrom)
      ? createTextReader(operation.projectFrom)
      : () => null;
  const environmentOf = isMember(operation.environmentFrom)
    ? createTextReader(operation.environmentFrom)
    : () => null;
  return (request) => ({ projectId: projectOf(request), environmentName: environmentOf(request) });
}

type MemberSource = Exclude<EnvironmentSource, 'resource' | 'items'>;

function isBodyMember(source: Operation['projectFrom']): source is `body.${string}` {
  return source !== undefined && source !== 'resource';
}

function isMember(source: EnvironmentSource | undefined): source is MemberSource {
  return source !== undefined && source !== 'resource' && source !== 'items';
}

function createTextReader(source: MemberSource): (request: Parts) => string {
  const names = source.split('.');
  return (request) => {
    const found = names.reduce<unknown>(
      (value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name],
      request,
    );
    // Without an environment the check would accept a role in any environment.
    if (typeof found !== 'string')
      throw new Error(`The request has no ${source}, which the permission check requires.`);
    return found;
  };
}
