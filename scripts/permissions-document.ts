/** docs/permissions.md: the one permission table (contract/permission.ts) as an operator reads it. */
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

Each operation requires one permission. A caller that has **any one** of the roles in its row has the permission: a role in the account, in
the project, or in the environment of the request. A role in an environment applies to that environment only. Roles are read at every
request, so a change takes effect with the next request.

For a caller without any role in a project or its environments, every operation in the project returns 404 \`project-not-found\`, as if the
project did not exist. A caller that has a role there, but not the required permission, gets 403 \`forbidden\`; its \`detail\` names the
permission, the roles that have it, and the roles of the caller. A resource of another account is always 404.

The project of a check is always the one in the path. The environment is the member in the column "environment from"; no other member,
header or query parameter of the request changes it. \`resource\`: the environment of the resource in the path, such as an execution.
\`items\`: each item of the body names an environment and is checked separately.

Agents have no roles. The token of an agent is accepted by the agent protocol only, and only for the work of that agent.`;

function roles(): string {
  return `## Roles

| where | roles |
|---|---|
| account | ${list(accountRoles)} |
| project | ${list(projectRoles)} |
| environment | ${list(environmentRoles)} |

A credential has one account role and any number of roles in projects and environments (\`POST /dpc/v1/credentials\`). The creator of a
project becomes its OWNER.`;
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

/** The operations, area by area, each with the roles that are enough for it. */
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
  const rows = inArea.map(({ id, method, path, permission, environmentFrom }) => {
    const grant = grantOf(permission);
    const account = grant.account.length === accountRoles.length ? 'any' : list(grant.account);
    return `| \`${id}\` | \`${method} /dpc${path}\` | \`${permission}\` | ${account} | ${list(grant.project)} | ${list(grant.environment)} | ${environmentFrom === undefined ? '–' : `\`${environmentFrom}\``} |`;
  });
  return `### ${tag}

| operation | request | permission | account | project | environment | environment from |
|---|---|---|---|---|---|---|
${rows.join('\n')}`;
}

/** The other way round: what one role allows. */
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
