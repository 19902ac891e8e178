/** The guides in `docs/` of the checkout: their files, titles and order. */
import { globSync, readFileSync } from 'node:fs';
import type { Tag } from '@headgate/contract';

export const docs = new URL('../../../../../docs/', import.meta.url);

/** The guides in the order of the contents. Others, such as those of components, are reached from these. */
export const guideGroups = [
  {
    title: 'Guides',
    files: [
      'getting-started',
      'api',
      'access',
      'sign-in',
      'directory',
      'secrets',
      'agents',
      'runs',
      'schedules',
      'alerts',
      'webhooks',
      'events',
      'lineage',
    ],
  },
  {
    title: 'Pipelines',
    files: [
      ...[
        'pipelines',
        'pipelines/components',
        'pipelines/variables',
        'pipelines/transitions',
        'pipelines/iterators',
      ],
      ...['pipelines/attempts', 'pipelines/transformations', 'pipelines/expressions', 'pipelines/scripts'],
      ...['pipelines/system-variables', 'pipelines/editors', 'testing', 'sql', 'sql-functions'],
      ...['quality-review', 'quality-rules'],
      ...['connectors', 'pipelines/connectors', 'stores', 'stores/s3', 'stores/azure', 'stores/google'],
      ...[
        'stores/sftp',
        'stores/https',
        'warehouses/postgresql',
        'warehouses/redshift',
        'warehouses/snowflake',
      ],
      ...['streaming', 'ai-tasks'],
    ],
  },
  { title: 'Git', files: ['repositories', 'hosted-repositories', 'git-delivery', 'repository-migrations'] },
  { title: 'Operation', files: ['configuration', 'operations', 'permissions', 'security'] },
] as const;

type Guide = (typeof guideGroups)[number]['files'][number];

/** The guides that explain the operations of an area. */
export const guidesOfAreas: Partial<Record<Tag, readonly Guide[]>> = {
  Projects: ['getting-started'],
  Environments: ['getting-started'],
  Variables: ['getting-started', 'pipelines/variables'],
  'Secret references': ['secrets'],
  Artifacts: ['getting-started', 'pipelines'],
  'Quality review': ['quality-review', 'quality-rules'],
  Repositories: ['repositories', 'hosted-repositories', 'git-delivery'],
  'Enterprise OAuth connections': ['repositories'],
  'Repository migrations': ['repository-migrations'],
  'Shared pipelines': ['pipelines'],
  Agents: ['agents'],
  Connections: ['warehouses/postgresql', 'warehouses/redshift', 'warehouses/snowflake'],
  'Connector profiles': ['connectors', 'pipelines/connectors'],
  'Connector OAuths': ['connectors'],
  Secrets: ['secrets'],
  'Pipeline executions': ['runs'],
  Schedules: ['schedules'],
  'Sign-in': ['sign-in'],
  'Streaming pipelines': ['streaming'],
  'Test executions': ['testing'],
  'Warehouse queries': ['sql', 'sql-functions'],
  'AI tasks': ['ai-tasks'],
  Credentials: ['access'],
  Users: ['access'],
  Groups: ['access'],
  Access: ['access', 'permissions'],
  Directory: ['directory'],
  Lineage: ['lineage'],
  Events: ['events'],
  Webhooks: ['webhooks'],
  Alerts: ['alerts'],
};

/** Paths in `docs/`. */
export function listGuideFiles(): string[] {
  const folders = [
    'connectors/*.md',
    'pipelines/**/*.md',
    'quality-rules/*.md',
    'stores/*.md',
    'warehouses/*.md',
  ];
  return globSync(['*.md', ...folders], { cwd: docs });
}

export const readGuide = (file: string): string => readFileSync(new URL(file, docs), 'utf8');

/** `pipelines/components/README.md` is `pipelines/components`. */
export const toPagePath = (file: string): string => file.replace(/(?:\/README)?\.md$/, '');

export const readTitle = (text: string): string => /^# (.+)$/m.exec(text)?.[1] ?? 'Documentation';

let titles: ReadonlyMap<string, string> | undefined;

/** The titles of all guides by the paths of their pages, read at the first call. */
export function readGuideTitles(): ReadonlyMap<string, string> {
  titles ??= new Map(listGuideFiles().map((file) => [toPagePath(file), readTitle(readGuide(file))]));
  return titles;
}
