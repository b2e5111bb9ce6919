import { rulesOf } from '@capstan/kinds';
import { WebhookClient } from '../admission/webhooks/client.ts';
import { Definitions } from '../crds/definitions.ts';
import { quarantinedRules } from '../crds/quarantined-rules.ts';
import { webhookConversion } from '../crds/webhook.ts';
import { Outbound } from '../http/outbound.ts';
import { builtinCatalog, type Catalog } from '../registry/catalog.ts';
import { Organizations } from '../workspaces/organization.ts';
import type { Lifetime, ServerOptions } from './options.ts';
import type { Storage } from './storage.ts';
import { type Workspaces, workspaces } from './workspaces.ts';

/** The kinds that each workspace serves. */
export interface Kinds {
  /** The built-in kinds. */
  readonly catalog: Catalog;
  readonly definitions: Definitions;
  readonly spaces: Workspaces;
  /** Calls webhooks of admission and of conversion. */
  readonly webhooks: WebhookClient;
  /** Restricts where webhooks and issuers of tenants may lead. */
  readonly outbound: Outbound | undefined;
}

export function kindsOf({ cache, quarantine }: Storage, options: ServerOptions, { resources }: Lifetime): Kinds {
  const catalog = builtinCatalog(new Set(options.optionalVersions));
  const outbound = options.outbound && new Outbound(options.outbound);
  const organizations = new Organizations(cache);
  const slots = options.limits?.webhooks?.calls;
  const webhooks = resources.use(new WebhookClient(cache, { outbound, slots, organizationOf: organizations.of }));
  const webhook = webhookConversion(webhooks);
  const rules = quarantinedRules(rulesOf, quarantine);
  const definitions = new Definitions({ cache, rules, webhook });
  return {
    catalog,
    definitions,
    spaces: workspaces({ cache, catalog, organizations, definitions, rules, webhook, quarantine }),
    webhooks,
    outbound,
  };
}
