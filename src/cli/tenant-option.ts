/** `--tenant`, for commands whose operand belongs to a tenant. A usage error when it is missing or no uuid. */
import type { TenantId } from '../domain/ids.js';
import type { CommandOption } from './command-line.js';
import { typedTenantId } from './typed-id.js';
import { UsageError } from './usage-error.js';

const FLAG = 'tenant';

/** `what`: what the operand names. */
export function tenantOption(what: string): CommandOption {
  return { flag: FLAG, placeholder: 'uuid', meaning: `The tenant whose ${what} it is. Must be given.` };
}

export function requiredTenant(options: ReadonlyMap<string, string>, command: string): TenantId {
  const text = options.get(FLAG);
  if (text === undefined) throw new UsageError(`${command} needs --${FLAG}`);
  return typedTenantId(text, `--${FLAG}`);
}
