//! Bases and documents that a path names, as the caller may manage them.

use pia_kernel::{DocumentId, KnowledgeBaseId};
use pia_knowledge::{BaseAccess, BaseRef, DocumentRef};
use pia_web::{Caller, PathId, PathPart};

/// Returns the bases that a caller manages: those of the group. That of an
/// administrator is no exception: other groups' bases are managed in the
/// console.
pub(super) fn managed_by(caller: Caller) -> BaseAccess {
    BaseAccess::Group(caller.0.group)
}

/// Returns the base in the path of a manager's request.
pub(super) fn managed_base(caller: Caller, PathId(id): PathId) -> BaseRef {
    BaseRef { access: managed_by(caller), id: KnowledgeBaseId(id) }
}

/// Returns the document in the path of a manager's request.
pub(super) fn managed_document(caller: Caller, PathPart { id, part }: PathPart) -> DocumentRef {
    DocumentRef { base: managed_base(caller, PathId(id)), document: DocumentId(part) }
}

/// Returns the base in the path of a request with the service key.
pub(super) fn any_base(PathId(id): PathId) -> BaseRef {
    BaseRef { access: BaseAccess::Server, id: KnowledgeBaseId(id) }
}

/// Returns the document in the path of a request with the service key.
pub(super) fn any_document(PathPart { id, part }: PathPart) -> DocumentRef {
    DocumentRef { base: any_base(PathId(id)), document: DocumentId(part) }
}
