/** `providerParameters` of a target: what a request omits is read from the clone address. */
import type { MigrationProvider } from '@headgate/contract';

const requiredKeys: Readonly<Record<MigrationProvider, readonly string[]>> = {
  github: [],
  gitlab: ['repositoryId'],
  'azure-devops': ['organization', 'repositoryId', 'tenantId'],
};

export interface CompletedParameters {
  parameters: Record<string, string>;
  /** Required, neither given nor in the address. */
  missing: readonly string[];
}

/** @param known what else is known, such as the tenant of the enterprise OAuth connection */
export function completeParameters(
  provider: MigrationProvider,
  cloneUrl: string,
  input: Readonly<Record<string, string>> = {},
  known: Readonly<Record<string, string>> = {},
): CompletedParameters {
  const parameters = { ...readers[provider](cloneUrl), ...known, ...input };
  const missing = requiredKeys[provider].filter((key) => parameters[key] === undefined);
  return { parameters, missing };
}

const readers: Readonly<Record<MigrationProvider, (cloneUrl: string) => Record<string, string>>> = {
  github(cloneUrl) {
    const { segments } = splitPath(cloneUrl);
    const [ownerName] = segments.slice(-2);
    return segments.length < 2 || ownerName === undefined ? {} : { ownerName };
  },
  // GitLab takes the path of a project as its id.
  gitlab(cloneUrl) {
    const { segments } = splitPath(cloneUrl);
    return segments.length < 2 ? {} : { repositoryId: segments.join('/') };
  },
  'azure-devops'(cloneUrl) {
    const { host, segments } = splitPath(cloneUrl);
    const at = segments.indexOf('_git');
    const repositoryId = at < 0 ? undefined : segments[at + 1];
    const organization = host.endsWith('.visualstudio.com') ? host.split('.')[0] : segments[0];
    return {
      ...(organization === undefined || organization === '_git' ? {} : { organization }),
      ...(repositoryId === undefined ? {} : { repositoryId }),
    };
  },
};

function splitPath(cloneUrl: string): { host: string; segments: string[] } {
  const { hostname, pathname } = new URL(cloneUrl);
  const segments = pathname.split('/').slice(1).map(decodeURIComponent);
  const last = segments.at(-1);
  if (last !== undefined) segments[segments.length - 1] = last.replace(/\.git$/, '');
  return { host: hostname, segments: segments.filter((each) => each !== '') };
}
