//! `/api/plugins/{pluginId}`: files of a plugin, for members' clients.
//!
//! A package is sent in chunks, each loaded when the connection takes it. The hash
//! of the package is its `ETag`, by which a client resumes a download (`Range` with
//! `If-Range`) or skips it (`If-None-Match`). A plugin that the caller's group does
//! not get counts as missing.

use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT_RANGES, ByteRangeSpec, CACHE_CONTROL, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    ContentType, ETag, EntityTag, Header as _, IfNoneMatch, IfRange, Range,
};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::stream;
use pia_kernel::PluginId;
use pia_policy::{PluginError, PluginPackage, Plugins};
use pia_web::{Caller, PathId};

use crate::{Api, HttpError};

/// Downloads the package of a plugin, or a range of it.
pub(crate) async fn package(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    request: HttpRequest,
) -> Result<HttpResponse, HttpError> {
    let plugin = PluginId(id);
    let group = caller.0.group;
    let package =
        api.run(|api| async move { api.plugins.package_for(group, plugin).await }).await?;
    let tag = EntityTag::new_strong(package.hash.clone());
    if is_cached(&request, &tag) {
        return Ok(HttpResponse::NotModified().insert_header(ETag(tag)).finish());
    }

    let (offset, end) = match requested_range(&request, &package, &tag) {
        RequestedRange::All => (0, package.size),
        RequestedRange::Part(first, last) => (first, last + 1),
        RequestedRange::Unsatisfiable => {
            let range = (CONTENT_RANGE, format!("bytes */{}", package.size));
            return Ok(HttpResponse::RangeNotSatisfiable().insert_header(range).finish());
        }
    };

    let mut response = HttpResponse::Ok();
    if (offset, end) != (0, package.size) {
        let range = format!("bytes {offset}-{}/{}", end - 1, package.size);
        response.status(StatusCode::PARTIAL_CONTENT).insert_header((CONTENT_RANGE, range));
    }

    let plugins = api.plugins.clone();
    let download = Download { plugins, plugin, hash: package.hash, offset, end };
    Ok(response
        .content_type("application/vnd.ms-cab-compressed")
        .insert_header(ETag(tag))
        .insert_header((ACCEPT_RANGES, "bytes"))
        .insert_header((CACHE_CONTROL, "private, no-cache"))
        .body(SizedStream::new(end - offset, stream::try_unfold(download, Download::next))))
}

/// Returns the icon of a plugin.
pub(crate) async fn icon(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<HttpResponse, HttpError> {
    let group = caller.0.group;
    let icon =
        api.run(|api| async move { api.plugins.icon_for(group, PluginId(id)).await }).await?;
    Ok(HttpResponse::Ok()
        .content_type(ContentType::png())
        .insert_header((CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"))
        .insert_header((CACHE_CONTROL, "private, max-age=300"))
        .body(icon))
}

/// Remaining range of a package.
struct Download {
    plugins: Plugins,
    plugin: PluginId,
    hash: String,
    offset: u64,
    end: u64,
}

/// Requested part of a package.
enum RequestedRange {
    All,
    /// Offsets of the first and the last byte.
    Part(u64, u64),
    Unsatisfiable,
}

fn is_cached(request: &HttpRequest, tag: &EntityTag) -> bool {
    match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|it| it.weak_eq(tag)),
        Err(_malformed) => false,
    }
}

/// Returns the range of a request. Several ranges, or one of another version
/// than `If-Range` names, are answered with the entire package.
fn requested_range(
    request: &HttpRequest,
    package: &PluginPackage,
    tag: &EntityTag,
) -> RequestedRange {
    let Ok(Range::Bytes(ranges)) = Range::parse(request) else { return RequestedRange::All };
    let [range] = ranges.as_slice() else { return RequestedRange::All };

    if request.headers().contains_key("if-range") {
        let unchanged =
            matches!(IfRange::parse(request), Ok(IfRange::EntityTag(it)) if it.strong_eq(tag));
        if !unchanged {
            return RequestedRange::All;
        }
    }

    match ByteRangeSpec::to_satisfiable_range(range, package.size) {
        Some((first, last)) => RequestedRange::Part(first, last),
        None => RequestedRange::Unsatisfiable,
    }
}

impl Download {
    /// Loads the next bytes. Fails if the package was replaced meanwhile, which
    /// closes the connection before the response is complete.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, PluginError> {
        if self.offset >= self.end {
            return Ok(None);
        }
        let chunk = self.plugins.package_bytes(self.plugin, &self.hash, self.offset).await?;
        let mut bytes = Bytes::from(chunk.ok_or(PluginError::Unknown)?);
        let remaining = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        bytes.truncate(remaining);
        self.offset += bytes.len() as u64;
        Ok(Some((bytes, self)))
    }
}
