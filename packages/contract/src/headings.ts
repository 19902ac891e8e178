/**
 * The headings of the OpenAPI document, in their order. A new resource adds its heading here: the other lists
 * of resources are written by `npm run generate` (docs/adr/0042).
 */
interface Heading {
  /** The `tag` of its operations. */
  tag: string;
  /** What the resource is, for readers of the document. */
  about: string;
}

export const headings = [
  {
    tag: 'Projects',
    about: 'A project holds environments, variables, connections, secret references and artifacts.',
  },
  {
    tag: 'Environments',
    about: 'An environment is a place where the pipelines of a project run, such as dev or prod.',
  },
  {
    tag: 'Variables',
    about: 'Variables of a project, and the values that override them in an environment.',
  },
  {
    tag: 'Connections',
    about:
      'Connections of a project to data warehouses and other systems, and their overrides in an environment.',
  },
  {
    tag: 'Secret references',
    about:
      'A secret reference names a secret in a vault of the customer. Headgate does not store the secret.',
  },
  {
    tag: 'Artifacts',
    about:
      'An artifact is an immutable version of the pipeline files of a project, published to an environment.',
  },
  {
    tag: 'Quality review',
    about: 'Rules that find weaknesses of pipelines before they run, for a version, a branch or files.',
  },
  {
    tag: 'Repositories',
    about:
      'The Git repository of a project: hosted here or on another host, its branches, commits and files.',
  },
  {
    tag: 'Enterprise OAuth connections',
    about: 'Applications of the account at Git providers, which give the server short-lived tokens.',
  },
  {
    tag: 'Repository migrations',
    about:
      'A migration moves the repository of a project to another address, and proves that nothing was lost.',
  },
  {
    tag: 'Shared pipelines',
    about: 'Versioned groups of pipelines that every project of the account can run.',
  },
  {
    tag: 'Agents',
    about: 'An agent is a program that runs pipelines beside the data. It connects to the server.',
  },
  {
    tag: 'Connector profiles',
    about:
      'A connector profile describes the endpoints of an HTTP API, from which pipelines load rows, and how to authenticate.',
  },
  {
    tag: 'Connector OAuths',
    about: 'OAuth configurations of a project, with which connectors get tokens. Tokens stay in your vaults.',
  },
  { tag: 'Secrets', about: 'Write secrets into the vaults of an agent. The server does not store them.' },
  {
    tag: 'Pipeline executions',
    about: 'Start and cancel pipelines, and read their status, steps, variables and logs.',
  },
  {
    tag: 'Schedules',
    about: 'A schedule runs a pipeline at the times of a cron expression, or at an interval.',
  },
  {
    tag: 'Streaming pipelines',
    about:
      'A streaming pipeline copies the changes of database tables to a target. This version stores definitions and does not run them.',
  },
  {
    tag: 'Test executions',
    about: 'Run the tests of pipelines without changing the data of the environment, and read their results.',
  },
  {
    tag: 'Warehouse queries',
    about:
      'Read the warehouse of an environment: by a query, which can change nothing, or its tables and views.',
  },
  {
    tag: 'AI tasks',
    about:
      'An AI task works on a project by messages. It shows what it does, asks before it changes something, and stays within budgets.',
  },
  { tag: 'Credentials', about: 'API credentials of the account, and their roles.' },
  {
    tag: 'Sign-in',
    about:
      'How people sign in: identity issuers, passkeys, sign-in links, invitations, and the sessions of their browsers.',
  },
  { tag: 'Users', about: 'The people of the account, and the personal credentials by which they act.' },
  {
    tag: 'Personal tokens',
    about: 'Tokens that users make for their programs, with an end and with narrowed rights.',
  },
  { tag: 'Groups', about: 'Groups of users, and the role that each gives to its members.' },
  { tag: 'Access', about: 'Who the caller is, and who may do what.' },
  {
    tag: 'Directory',
    about: 'Users and groups by SCIM 2.0 (RFC 7643, RFC 7644), and the roles that groups give.',
  },
  {
    tag: 'Lineage',
    about:
      'What the runs of pipelines read and wrote: as OpenLineage events, and as a graph of each environment.',
  },
  { tag: 'Events', about: 'The audit log of the account.' },
  {
    tag: 'Webhooks',
    about: 'A webhook sends the events of the account to an address, signed, in order and with retries.',
  },
  {
    tag: 'Alerts',
    about: 'An alert rule of a project raises an event when executions or schedules need attention.',
  },
  {
    tag: 'Consumption',
    about:
      'What the account uses, by day and pipeline, what it costs in credits, and the budgets of projects.',
  },
  { tag: 'Agent protocol', about: 'What agents and servers send to each other.' },
  {
    tag: 'Project tags',
    about: 'A tag is a name and a value that a project carries, such as its cost center.',
  },
] as const satisfies readonly Heading[];

export type Tag = (typeof headings)[number]['tag'];
