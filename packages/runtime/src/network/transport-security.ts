/** TLS for connections, streams and HTTP, and who the other end has shown itself to be. No implementation of it exists yet. */

/** What a certificate has proved of the other end. */
export interface PeerIdentity {
  /** The subject's common name. */
  readonly name: string;
  /** Its subject alternative names, as the certificate has them. */
  readonly alternativeNames: readonly string[];
}

/** All in PEM. */
export interface TransportSecurity {
  readonly certificate: string;
  readonly privateKey: string;
  /** Who may have signed the other end's certificate. @default those that the system trusts */
  readonly authorities?: readonly string[];
  /** As listener: refuse who shows no certificate. @default false */
  readonly requireIdentity?: boolean;
}

export interface Securable {
  /** @default nothing is encrypted, and nobody has an identity */
  readonly tls?: TransportSecurity;
}

/** Why the options cannot be met; undefined when they can. What asks for encryption never goes without. */
export function securityProblem({ tls }: Securable): string | undefined {
  return tls === undefined ? undefined : 'TLS is not supported by this version; leave it out, or put a proxy in front';
}
