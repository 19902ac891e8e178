/** The pages of the documentation that are written from the definitions of components, as Markdown. */
import {
  type ComponentDefinition,
  type ComponentGroup,
  componentGroups,
} from '../components/definition/component.ts';
import type { ParameterDeclaration } from '../components/definition/declared-parameters.ts';
import { findDefinition, listComponentTypes } from '../components/registry.ts';
import type { PipelineType } from '../format/pipeline.ts';

const notice = '<!-- Written by `npm run generate` from the definition of the component. Do not edit. -->';

/** All pages, by file name. */
export function renderComponentPages(): ReadonlyMap<string, string> {
  const pages = new Map([['README.md', renderIndex()]]);
  for (const { type, definition } of listComponents()) pages.set(`${type}.md`, renderPage(type, definition));
  return pages;
}

function listComponents() {
  return (['orchestration', 'transformation'] as const).flatMap((kind) =>
    listComponentTypes(kind).flatMap((type) => {
      const definition = findDefinition(type);
      return definition === undefined ? [] : [{ kind, type, definition }];
    }),
  );
}

function renderIndex(): string {
  const sections = (['orchestration', 'transformation'] as const).map((kind) => renderKind(kind));
  return `${notice}

# Components

A component's \`type\` says what it does. Types with a vendor's suffix, such as \`-v2\` or \`-sf\`, mean the type without it. A type that is not
listed is an error before the run.

${sections.join('\n\n')}
`;
}

function renderKind(kind: PipelineType): string {
  const components = listComponents().filter((each) => each.kind === kind);
  const groups = (Object.keys(componentGroups) as ComponentGroup[]).flatMap((group) => {
    const members = components.filter(({ definition }) => definition.group === group);
    if (members.length === 0) return [];
    const rows = members.map(
      ({ type, definition }) => `| [\`${type}\`](${type}.md) | ${firstSentence(definition)} |`,
    );
    return [`### ${componentGroups[group]}\n\n| type | what it does |\n|---|---|\n${rows.join('\n')}`];
  });
  return [`## In ${kind}s`, ...groups].join('\n\n');
}

function firstSentence({ about }: ComponentDefinition): string {
  return escapeCell(/^.*?[.](?= [A-Z`]|$)/s.exec(about)?.[0] ?? about);
}

function renderPage(type: string, definition: ComponentDefinition): string {
  const { about, kind, aliases = [], noEffect = [], example } = definition;
  const others = aliases.length === 0 ? '' : ` Also written ${listCode(aliases)}.`;
  return `${[
    notice,
    `# ${type}`,
    about,
    `${describePlace(definition)}${others}`,
    `\`\`\`yaml\n${example}\n\`\`\``,
    renderParameters(definition),
    ...(noEffect.length === 0
      ? []
      : [`These parameters of other warehouses are accepted and have no effect: ${listCode(noEffect)}.`]),
    `[All components](README.md) · [${kind === 'orchestration' ? 'Transitions](../transitions.md' : 'Transformations](../transformations.md'}) · [Expressions](../expressions.md)`,
  ].join('\n\n')}\n`;
}

function describePlace(definition: ComponentDefinition): string {
  if (definition.kind === 'orchestration') {
    return definition.iterates === true
      ? 'A component of orchestrations. It needs an [`iterationTarget`](../iterators.md).'
      : 'A component of orchestrations.';
  }
  const [least, most] = definition.sources;
  const sources = describeSources(least, most);
  return `A component of transformations. ${sources}${definition.output ? ' It is an output.' : ''}`;
}

function describeSources(least: number, most: number): string {
  if (most === 0) return 'It has no source.';
  if (least === 1 && most === 1) return 'It has one source.';
  if (least === most) return `It has ${least} sources.`;
  if (most === Number.POSITIVE_INFINITY)
    return least === 0 ? 'It may have sources.' : `It has ${least} or more sources.`;
  return `It has ${least} to ${most} sources.`;
}

function renderParameters({ parameters }: ComponentDefinition): string {
  const entries = Object.entries(parameters);
  if (entries.length === 0) return 'It has no parameters.';
  const rows = entries.map(([name, declaration]) => {
    const { about, otherNames = [], required } = declaration;
    const also = otherNames.length === 0 ? '' : ` Also written ${listCode(otherNames)}.`;
    const name_ = `\`${name}\`${required === true ? ' (required)' : ''}`;
    return `| ${name_} | ${describeValue(declaration)} | ${escapeCell(`${about}${also}`)} |`;
  });
  return `| parameter | value | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}

function describeValue({ kind, words = [], cells = [], standard }: ParameterDeclaration): string {
  const preset = standard === undefined ? '' : `; default ${standard}`;
  switch (kind) {
    case 'choice':
      return escapeCell(`${words.join(', ')}${preset}`);
    case 'yes-no':
      return `Yes or No${preset}`;
    case 'names':
      return 'list of names';
    case 'rows':
      return escapeCell(`rows \`[${cells.join(', ')}]\``);
    case 'sql':
      return `SQL${preset}`;
    case 'map':
      return 'map';
    default:
      return escapeCell(`${kind}${preset}`);
  }
}

const listCode = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');
const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
