/** Writes docs/permissions.md for operators from the permission table (contract/permission.ts). */
import {
  accountRoles,
  environmentRoles,
  type Grant,
  type Operation,
  operations,
  type Permission,
  permissions,
  projectRoles,
} from '@headgate/contract';

const shown = operations.filter((operation) => operation.surface === 'dpc');

export function permissionsDocument(): string {
  return `${[introduction, roles(), table(), ...areas(), allowances()].join('\n\n')}\n`;
}

const introduction = `<!-- Written by \`npm run generate\` from packages/contract/src/permission.ts. Do not edit. -->

# Permissions

Every operation needs one permission; a few need a second one, without the environment. A caller has it with **any one** of the roles in its row: a role in the
account, in the project of the request, or in the environment of the request. An environment role is valid only in
its own environment. Roles are read at every request, so a change takes effect with the next one.

A caller without any role in a project gets 404 \`project-not-found\`, as if the project did not exist. A caller with
a role in the project or in one of its environments, but none of the required ones, gets 403 \`forbidden\`. It names
the permission, the roles that have it, and the caller's roles. Resources of another account are always 404.

The check uses the project in the path, and the environment in the member that the column "environment from" names.
No other member, header or query parameter affects it. \`resource\` is the environment of the resource in the path,
such as an execution. With \`items\`, each item of the body names an environment and is checked separately.

Agents have no roles. An agent's token is valid only for the agents' protocol, and there only for its own work.`;

function roles(): string {
  return `## Roles

| where | roles |
|---|---|
| account | ${list(accountRoles)} |
| project | ${list(projectRoles)} |
| environment | ${list(environmentRoles)} |

A credential has one account role and any number of roles in projects and environments
(\`POST /dpc/v1/credentials\`). A user has the roles of its groups ([People and access](access.md)); without one in the
account it is a MEMBER. The creator of a project becomes its OWNER.`;
}

function table(): string {
  const rows = Object.entries(permissions).map(
    ([name, grant]: [string, Grant]) =>
      `| \`${name}\` | ${grant.may} | ${list(grant.account)} | ${list(grant.project)} | ${list(grant.environment)} |`,
  );
  return `## Permissions

| permission | may | role in the account | or in the project | or in the environment |
|---|---|---|---|---|
${rows.join('\n')}`;
}

/** The operations by area, each with the roles that allow it. */
function areas(): string[] {
  const tags = [...new Set(shown.map((operation) => operation.tag))];
  return [
    '## Operations',
    ...tags.map((tag) =>
      area(
        tag,
        shown.filter((operation) => operation.tag === tag),
      ),
    ),
  ];
}

function area(tag: string, inArea: readonly Operation[]): string {
  const rows = inArea.map(({ id, method, path, permission, alsoRequires, environmentFrom }) => {
    const grant = grantOf(permission);
    const account = grant.account.length === accountRoles.length ? 'any' : list(grant.account);
    const needed = [permission, alsoRequires]
      .filter((each) => each !== undefined)
      .map((each) => `\`${each}\``);
    return `| \`${id}\` | \`${method} /dpc${path}\` | ${needed.join(' and ')} | ${account} | ${list(grant.project)} | ${list(grant.environment)} | ${environmentFrom === undefined ? '–' : `\`${environmentFrom}\``} |`;
  });
  return `### ${tag}

| operation | request | permission | account | project | environment | environment from |
|---|---|---|---|---|---|---|
${rows.join('\n')}`;
}

/** The permissions of each role. */
function allowances(): string {
  const columns = [
    ['account', accountRoles],
    ['project', projectRoles],
    ['environment', environmentRoles],
  ] as const;
  const rows = columns.flatMap(([where, names]) =>
    names.map((role) => {
      const granted = Object.entries(permissions).filter(([, grant]: [string, Grant]) =>
        (grant[where] as readonly string[]).includes(role),
      );
      return `| ${where} | ${role} | ${list(granted.map(([name]) => `\`${name}\``))} |`;
    }),
  );
  return `## What each role allows

| where | role | permissions |
|---|---|---|
${rows.join('\n')}`;
}

function grantOf(permission: Permission | undefined): Grant {
  if (permission === undefined) throw new Error('an operation of the management interface has a permission');
  return permissions[permission];
}

const list = (names: readonly string[]) => (names.length === 0 ? '–' : names.join(', '));
